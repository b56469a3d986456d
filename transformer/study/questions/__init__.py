"""Questions that learners ask, each answered by one picture or one number, from the model at hand where it can."""
