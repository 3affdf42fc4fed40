"""What a person does with the page, through a browser."""

from __future__ import annotations

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait


def wait(page: WebDriver) -> WebDriverWait[WebDriver]:
    """Waits while what is looked for is not there, or was drawn anew between being found and being read."""
    return WebDriverWait(page, 20, ignored_exceptions=[NoSuchElementException, StaleElementReferenceException])


def collections(page: WebDriver) -> list[WebElement]:
    return wait(page).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#collections input[type=checkbox]"))


def choose(page: WebDriver, *names: str) -> None:
    for box in collections(page):
        if box.is_selected() != (box.get_attribute("value") in names):
            box.click()
