"""A small grammar of English and Chinese: it draws a meaning, and says it in both languages.

`draw` makes a meaning (`meaning`: who does what, when, where, stated, denied or asked), `english` and `chinese` each
write it down, `lexicon` has the words, `held_out` keeps some word pairs from training, `reading` takes a user's
sentence apart.

No English sentence has two translations, because Chinese is made from nothing that English does not show. What English
leaves open is settled for good: "you" is one person (你), "they" are 他们; "her" is 她的 if a noun follows, else 她; a
place says where it happens, not which cat is meant ("i saw the cat in the park"); and there is no "the" before a noun,
which may be 这, 那 or nothing. The other way some differences are lost ("very", the number of "my cats", "a cat" and
"cats" after "not"), so several English sentences may share a translation.

| what it teaches | English | Chinese |
|---|---|---|
| object pronouns | she loves him . | 她爱他。 |
| agreement, in English only | he wants to buy a car . | 他想买一辆车。 |
| "her" is 她 or 她的 | i help her . / i help her friend . | 我帮助她。 / 我帮助她的朋友。 |
| classifiers | a cat, a horse, a book, an umbrella | 一只猫, 一匹马, 一本书, 一把雨伞 |
| this, these, those six | this cup, these cups, those six cups | 这个杯子, 这些杯子, 那六个杯子 |
| possessive 的 | my two cats | 我的两只猫 |
| 两 counts, 二 is a digit | two / twelve / twenty two pens | 两支笔 / 十二支笔 / 二十二支笔 |
| a plural without number | we like red apples . | 我们喜欢红苹果。 |
| "a" without 一 after "not" | i did not buy a car . | 我没买车。 |
| 不 denies habits and states | he does not sell hats . | 他不卖帽子。 |
| 没 denies the past, and 有 | he did not see us . / he does not have a dog . | 他没看见我们。 / 他没有狗。 |
| 不会 denies the future | you will not find my dog . | 你不会找到我的狗。 |
| 不是 denies what one is | she is not a doctor . | 她不是医生。 |
| past 了, gone after "not" | i bought this book . | 我买了这本书。 |
| questions with 吗, without "do" | did you wash your cup ? | 你洗了你的杯子吗？ |
| time, place, then verb | i saw a bird in the park yesterday . | 我昨天在公园看见了一只鸟。 |
| "not" between time and place | she will not draw us at home tonight . | 她今晚不会在家画我们。 |
| 很 where English has "is" | this car is big . / is this car big ? | 这辆车很大。 / 这辆车大吗？ |
| a profession without 一个 | he is a teacher . / he is a good teacher . | 他是老师。 / 他是一个好老师。 |
| "old" is 旧 or 老 | an old hat, an old friend | 一顶旧帽子, 一个老朋友 |
"""
