"""A real browser, Debian's chromium, driven by playwright; every page is held to say nothing wrong and ask for nothing.

Outside a plain `pytest`: `pip install '.[browser]'`, have `chromium` on the PATH, then `pytest tests/browser`.
"""

import shutil

import pytest
from playwright.sync_api import sync_playwright

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
