"""A real browser, Debian's chromium, driven by playwright; every page is held to say nothing wrong and ask for nothing.

Outside a plain `pytest`: `pip install '.[browser]'`, have `chromium` on the PATH, then `pytest tests/browser`.
"""

import shutil

import pytest
from playwright.sync_api import sync_playwright

from tests.browser.study import studied
from transformer.study.figures import Bars, Words
from transformer.study.page import study_page
from transformer.study.page.lesson import lesson, weights
from transformer.study.questions import Answer

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium")
    assert program, "these tests need Debian's chromium on the PATH"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Open a file as a page; at the end it must have had no complaint, and have asked for nothing but itself."""
    contexts, complaints, requests = [], [], []

    def opened(path, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}} | options)
        context.set_default_timeout(5000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in requests)
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)


@pytest.fixture(scope="session")
def subjects():
    return studied()


@pytest.fixture(scope="session")
def study(subjects, tmp_path_factory):
    """The file of a study page of these subjects, with one question."""
    bars = Bars(Words("some bars", "一些条"), ["a"], {Words("one", "一"): [1.5]})
    answer = Answer(1, Words("Why?", "为什么？"), Words("Because 1.5.", "因为 1.5。"), (bars,))
    path = tmp_path_factory.mktemp("study") / "study.html"
    lessons = [lesson(each, lambda done: None) for each in subjects]
    path.write_text(study_page(lessons, weights(subjects[0].trace.model), [answer]), encoding="utf-8")
    return path
