"""Questions on the web page, in a real browser, with a real reader; its answers are spans, though nobody trained it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.browser.driving import choose, collections, wait
from tests.support.backbones import tiny_reader, tiny_statement_reader
from tests.support.serving import Server, server

EMOJI = "🌋🐝🐝 Der Vulkan 🌋 spuckt Asche. 🐝 Die Schiffe liegen im Hafen."
HOSTILE = "<b>Vulkan</b> <script>document.title='x'</script> &amp; <img src=x onerror=document.title='x'> im Hafen."
LONG = "Der Norden ist kalt. " * 100
DOCUMENTS = {
    "emoji": EMOJI,
    "hostile": HOSTILE,
    "bee": "Eine Biene fliegt über die Wiese. Die Schiffe liegen im Hafen.",
    "long": LONG,
}
WORDS = "volcano\tVulkan\nbee\tBiene\nash\tAsche\nharbour\tHafen\nships\tSchiffe\nmeadow\tWiese\n"
WITHOUT_GLOSSES = """
const text = arguments[0].cloneNode(true);
text.querySelectorAll('rt').forEach((gloss) => gloss.remove());
return text.textContent;
"""
BEFORE = """
const [mark, text] = arguments;
const range = document.createRange();
range.setStart(text, 0);
range.setEndBefore(mark);
return range.toString();
"""


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("reading")
    readers = {
        "reader": tiny_reader(folder / "reader"),
        "statement_reader": tiny_statement_reader(folder / "statements"),
    }
    with server(folder / "data", qa_chars=600, **readers) as running:
        filled(running)
        yield running


def filled(running: Server) -> None:
    running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    lines = "\n".join(json.dumps({"id": id, "text": text}) for id, text in DOCUMENTS.items())
    headers = {"content-type": "application/x-ndjson"}
    running.client.post("/v1/collections/de/documents", content=lines, headers=headers).raise_for_status()
    asked = {"source": "en", "target": "de", "activate": True}
    running.client.put("/v1/tables/words", params=asked, content=WORDS.encode()).raise_for_status()


@pytest.fixture
def form(driver: WebDriver, reading: Server) -> Iterator[WebDriver]:
    """The page of a service with a reader; its console says nothing."""
    yield from opened(driver, reading)


def opened(driver: WebDriver, running: Server) -> Iterator[WebDriver]:
    driver.set_window_size(1100, 900)
    driver.get_log("browser")
    driver.get(running.url)
    collections(driver)
    wait(driver).until(lambda browser: browser.find_element(By.ID, "ask-button").is_displayed())
    yield driver
    assert [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def ask(page: WebDriver, question: str, context: str | None = None, button: str = "ask-button") -> list[WebElement]:
    """Ask an English question as a person does, and return the answers shown."""
    Select(page.find_element(By.ID, "query-language")).select_by_value("en")
    box = page.find_element(By.ID, "query")
    box.clear()
    box.send_keys(question)
    if context is not None:
        page.find_element(By.CSS_SELECTOR, "#own-text summary").click()
        page.execute_script("arguments[0].value = arguments[1]", page.find_element(By.ID, "context"), context)
    page.find_element(By.ID, button).click()
    return answers(page)


def answers(page: WebDriver) -> list[WebElement]:
    """The answers, once they are shown."""
    wait(page).until(lambda browser: " by " in browser.find_element(By.ID, "search-status").text)
    return page.find_elements(By.CSS_SELECTOR, "#answers article.answer")


def answered(running: Server, question: str, **more: Any) -> dict[str, Any]:
    body = {"question": question, "question_language": "en"} | more
    response = running.client.post("/v1/qa", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def check_marked(page: WebDriver, text: WebElement, whole: str, expected: list[dict[str, Any]]) -> None:
    """The marked answers of a text are the expected ones, at their places in code points."""
    assert page.execute_script(WITHOUT_GLOSSES, text) == whole
    marks = text.find_elements(By.CSS_SELECTOR, "mark.answer")
    found = [(page.execute_script(BEFORE, mark, text), page.execute_script(WITHOUT_GLOSSES, mark)) for mark in marks]
    assert found == sorted([(whole[: one["start"]], one["text"]) for one in expected], key=lambda pair: len(pair[0]))


def test_an_answer_is_marked_in_its_sentence_and_in_the_text(form: WebDriver, reading: Server) -> None:
    found = answered(reading, "what lies in the harbour", context=EMOJI)
    assert any("🌋" in EMOJI[: one["start"]] for one in found["answers"])
    shown = ask(form, "what lies in the harbour", EMOJI)
    assert [one.find_element(By.CSS_SELECTOR, "h3").text for one in shown] == [one["text"] for one in found["answers"]]
    for card, answer in zip(shown, found["answers"], strict=True):
        start = answer["start"] - answer["sentence_start"]
        check_marked(form, card.find_element(By.CSS_SELECTOR, ".text"), answer["sentence"], [answer | {"start": start}])
        assert f"probability {answer['score']:.3f}".rstrip("0") in card.text
    check_marked(form, form.find_element(By.CSS_SELECTOR, "#hits .text"), EMOJI, found["answers"])
    assert f"is {found['no_answer']:.3f}".rstrip("0") in form.find_element(By.ID, "no-answer").text


def test_answers_are_marked_in_the_passages_that_were_found(form: WebDriver, reading: Server) -> None:
    found = answered(reading, "volcano harbour", collections=["de"])
    shown = ask(form, "volcano harbour")
    assert [one.find_elements(By.CSS_SELECTOR, ".badge")[2].text for one in shown] == [
        one["document"]["id"] for one in found["answers"]
    ]
    hits = form.find_elements(By.CSS_SELECTOR, "#hits article.hit")
    assert len(hits) == len(found["passages"]) > 0
    marked = 0
    for card, hit in zip(hits, found["passages"], strict=True):
        for button in card.find_elements(By.XPATH, ".//button[text()='Whole document']"):
            button.click()
        wait(form).until(lambda _, card=card: not card.find_elements(By.CSS_SELECTOR, "button"))
        own = [one for one in found["answers"] if one["document"]["id"] == hit["id"]]
        check_marked(form, card.find_element(By.CSS_SELECTOR, ".text"), DOCUMENTS[hit["id"]], own)
        marked += len(own)
    assert marked == len(found["answers"]) > 0
    assert "answer" in form.find_element(By.ID, "legend").text
    assert form.find_elements(By.CSS_SELECTOR, "#hits mark.table")


def test_markup_in_texts_and_questions_is_shown_as_text(form: WebDriver, reading: Server) -> None:
    question = "<i>volcano</i> harbour"
    found = answered(reading, question, context=HOSTILE)
    ask(form, question, HOSTILE)
    check_marked(form, form.find_element(By.CSS_SELECTOR, "#hits .text"), HOSTILE, found["answers"])
    form.find_element(By.CSS_SELECTOR, "#own-text summary").click()
    form.find_element(By.ID, "ask-button").click()
    wait(form).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#hits article.hit"))
    texts = [one.get_property("textContent") for one in form.find_elements(By.CSS_SELECTOR, "#hits .text")]
    assert HOSTILE in texts
    assert not form.find_elements(By.CSS_SELECTOR, "main script, main img, main b, main i")
    assert form.title == "Dragoman"


def test_words_of_answers_and_passages_are_glossed_on_demand(form: WebDriver) -> None:
    ask(form, "bee")
    assert not form.find_elements(By.CSS_SELECTOR, "main ruby")
    form.find_element(By.ID, "gloss").click()  # asks again, as there are answers
    glossed = "#answers .answer .text ruby rt[lang=en]"
    wait(form).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, glossed))
    words = {one.text for one in form.find_elements(By.CSS_SELECTOR, glossed)}
    assert words <= {"volcano", "bee", "ash", "harbour", "ships", "meadow"}
    assert "bee" in {one.text for one in form.find_elements(By.CSS_SELECTOR, "#hits .text ruby rt[lang=en]")}


def test_no_answer_is_said_with_its_probability(form: WebDriver, reading: Server) -> None:
    assert answered(reading, "xyzzy", collections=["de"])["no_answer"] == 1
    assert ask(form, "xyzzy") == []
    notice = form.find_element(By.CSS_SELECTOR, "#no-answer.notice").text
    assert notice.startswith("No answer.") and notice.endswith("is 1.")


def test_what_was_read_in_part_is_said(form: WebDriver, reading: Server) -> None:
    (said,) = answered(reading, "Norden", collections=["de"])["truncated"]
    ask(form, "Norden")
    assert said in form.find_element(By.ID, "search-notes").text


def test_a_reader_that_fails_leaves_the_passages_and_a_warning(driver: WebDriver, tmp_path: Path) -> None:
    with server(tmp_path / "data", reader=tmp_path / "missing") as running:
        filled(running)
        page = next(opened(driver, running))
        assert ask(page, "volcano") == []
        assert page.find_element(By.ID, "no-answer").text == "Nothing was read."
        assert "Warning, qa: no passage was read" in page.find_element(By.ID, "search-notes").text
        assert page.find_elements(By.CSS_SELECTOR, "#hits article.hit")


def test_an_error_is_shown_in_place_of_answers(form: WebDriver) -> None:
    ask(form, "volcano harbour")
    page = form.find_element(By.ID, "search-error")
    form.find_element(By.CSS_SELECTOR, "#own-text summary").click()
    form.execute_script("arguments[0].value = arguments[1]", form.find_element(By.ID, "context"), LONG)
    form.find_element(By.ID, "ask-button").click()
    wait(form).until(lambda _: "context" in page.text)
    assert not form.find_elements(By.CSS_SELECTOR, "#answers *, #hits *")
    form.get_log("browser")  # a refused request is on the console


def test_a_search_takes_the_place_of_answers(form: WebDriver) -> None:
    assert ask(form, "volcano harbour")
    form.find_element(By.ID, "query").send_keys(Keys.ENTER)
    wait(form).until(lambda browser: "ms" in browser.find_element(By.ID, "search-status").text)
    assert form.find_elements(By.CSS_SELECTOR, "#hits article.hit")
    assert not form.find_elements(By.CSS_SELECTOR, "#answers *, mark.answer")


def test_questions_are_asked_and_answers_explained_from_the_keyboard(form: WebDriver) -> None:
    box = form.find_element(By.ID, "query")
    box.send_keys("volcano harbour", Keys.TAB, Keys.TAB)
    button = form.switch_to.active_element
    assert button.accessible_name == "Ask"
    button.send_keys(Keys.ENTER)
    mark = answers(form)[0].find_element(By.CSS_SELECTOR, "mark.answer")
    form.execute_script("arguments[0].focus()", mark)
    evidence = form.find_element(By.ID, "evidence")
    assert "answer" in evidence.text and "probability" in evidence.text
    assert mark.get_attribute("aria-describedby") == "evidence"
    mark.send_keys(Keys.ESCAPE)
    assert not evidence.is_displayed()


def test_a_question_needs_words_and_a_collection(form: WebDriver) -> None:
    form.find_element(By.ID, "ask-button").click()
    assert form.find_element(By.ID, "search-status").text == ""  # the browser says what is missing
    choose(form)
    form.find_element(By.ID, "query").send_keys("volcano")
    form.find_element(By.ID, "ask-button").click()
    assert "at least one collection" in form.find_element(By.ID, "search-error").text


def test_without_a_reader_it_is_said_how_to_get_one(driver: WebDriver, tmp_path: Path) -> None:
    with server(tmp_path, reader="off", statement_reader="off") as running:
        filled(running)
        driver.get(running.url)
        collections(driver)
        wait(driver).until(lambda browser: "DRAGOMAN_READER" in browser.find_element(By.ID, "ask-advice").text)
        for id in ("ask-button", "judge-button", "own-text"):
            assert not driver.find_element(By.ID, id).is_displayed()


@pytest.mark.parametrize("own", [True, False])
def test_a_statement_is_judged_and_the_sentence_that_decides_is_marked(
    form: WebDriver, reading: Server, own: bool
) -> None:
    context = EMOJI if own else None
    body = {"statement": "The ships are in the harbour.", "question_language": "en"}
    response = reading.client.post("/v1/qa", json=body | ({"context": EMOJI} if own else {}))
    expected = response.json()
    ask(form, body["statement"], context, button="judge-button")
    shown = form.find_element(By.ID, "judgement").text
    assert shown.startswith("True" if expected["label"] == "true" else "False")
    assert f"{expected['probability']:.3f}".rstrip("0") in shown
    cards = form.find_elements(By.CSS_SELECTOR, "#answers .evidence-sentence")
    assert len(cards) == ("evidence" in expected)
    if own and cards:
        assert expected["evidence"]["text"] in cards[0].text
        (text,) = form.find_elements(By.CSS_SELECTOR, "#hits p.text")
        check_marked(form, text, EMOJI, [expected["evidence"]])
