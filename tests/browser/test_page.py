"""The web page in a real browser, against a real service with the demo collections."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support import expected_conditions as expect
from selenium.webdriver.support.ui import Select

from tests.browser.driving import choose, collections, wait
from tests.support.backbones import tiny_translator
from tests.support.serving import server

HOSTILE = '<script>document.title="owned"</script> zyzzyva <img src=x onerror=document.title="owned">'


def _do(page: WebDriver, action: Callable[[], None]) -> None:
    def done(_: WebDriver) -> bool:
        action()
        return True

    wait(page).until(done)


def _wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not done():
        assert time.monotonic() < until
        time.sleep(0.2)


def _search(page: WebDriver, query: str) -> list[WebElement]:
    """Ask as a person does, and return the hits shown."""
    collections(page)
    box = page.find_element(By.ID, "query")
    box.clear()
    box.send_keys(query, Keys.ENTER)
    wait(page).until(lambda browser: "ms" in browser.find_element(By.ID, "search-status").text)
    return page.find_elements(By.CSS_SELECTOR, "article.hit")


def _open_tables(page: WebDriver) -> None:
    page.find_element(By.ID, "tab-tables").click()
    wait(page).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#tables article"))


def _card(page: WebDriver, name: str) -> WebElement:
    return page.find_element(By.XPATH, f"//div[@id='tables']/article[h3='{name}']")


def test_an_english_query_finds_documents_in_several_languages(page: WebDriver) -> None:
    hits = _search(page, "volcano eruption and ash")
    languages = {hit.find_element(By.CSS_SELECTOR, ".badge.language").text for hit in hits}
    assert len(hits) == 10
    assert len(languages) >= 4
    assert "English" in page.find_element(By.ID, "search-status").text


def test_evidence_is_shown_on_focus_and_hidden_by_escape(page: WebDriver) -> None:
    choose(page, "demo_de")
    hits = _search(page, "bees and honey")
    word = hits[0].find_element(By.CSS_SELECTOR, ".text mark")
    box = page.find_element(By.ID, "evidence")
    assert not box.is_displayed()
    page.execute_script("arguments[0].focus()", word)
    assert box.is_displayed()
    assert "demo_en_de, version 1" in box.text
    assert "probability" in box.text
    assert word.get_attribute("aria-describedby") == "evidence"
    word.send_keys(Keys.ESCAPE)
    assert not box.is_displayed()


def test_marked_words_are_the_words_of_the_highlights(page: WebDriver, api: httpx.Client) -> None:
    for name, query in (("demo_ar", "coffee"), ("demo_zh", "earthquake"), ("demo_de", "bread ovens")):
        _embed(api, name)
        page.refresh()
        choose(page, name)
        shown = _search(page, query)[0]
        request = {"query": query, "collections": [name], "top_k": 10}
        hit = api.post("/v1/search", json=request).json()["hits"][0]
        text = shown.find_element(By.CSS_SELECTOR, ".text")
        assert text.get_property("textContent") == hit["snippet"]
        assert shown.find_element(By.CSS_SELECTOR, "h3").get_property("textContent") == hit["title"]
        for field, place in (("text", ".text"), ("title", "h3")):
            found = shown.find_elements(By.CSS_SELECTOR, f"{place} mark")
            marks = {mark.get_property("textContent") for mark in found}
            assert marks == {one["document_term"] for one in hit["highlights"] if one["field"] == field}


def test_every_kind_of_match_is_named_and_has_its_colour(page: WebDriver, api: httpx.Client) -> None:
    assert api.post("/v1/collections", json={"name": "kinds", "language": "ru"}).status_code == 201
    lines = [
        {"id": "1", "title": "Вулкан и NASA", "text": "Вулкан снова дымит. Инженер Тесла читал об этом."},
        {"id": "2", "text": "Отчёт NASA."},
    ]
    headers = {"content-type": "application/x-ndjson"}
    content = "\n".join(map(json.dumps, lines))
    api.post("/v1/collections/kinds/documents", content=content, headers=headers).raise_for_status()
    _embed(api, "kinds")
    page.refresh()
    choose(page, "kinds")
    Select(page.find_element(By.ID, "method")).select_by_value("hybrid")
    hits = page.find_element(By.ID, "hits")
    assert len(_search(page, "volcano Tesla NASA")) == 2
    expected = {
        "h3 mark.table": ("Вулкан", "translation in a table"),
        "h3 mark.identical": ("NASA", "same word"),
        ".text mark.table": ("Вулкан", "demo_en_ru, version 1"),
        ".text mark.sound": ("Тесла", "sounds alike"),
        ".text mark.meaning mark.identical": ("NASA", "same word"),
        ".text mark.meaning:has(mark.identical)": ("Отчёт NASA.", "nearest in meaning"),
    }
    box = page.find_element(By.ID, "evidence")
    colours = set()
    for place, (text, evidence) in expected.items():
        mark = hits.find_element(By.CSS_SELECTOR, place)
        assert mark.get_property("textContent") == text
        page.execute_script("arguments[0].focus()", mark)
        assert evidence in box.text
        colours.add(mark.value_of_css_property("background-color"))
    assert len(colours) == 4
    legend = page.find_element(By.ID, "legend").text
    for name in ("translation in a table", "same word", "sounds alike", "nearest in meaning"):
        assert name in legend
    api.delete("/v1/collections/kinds")


def _embed(api: httpx.Client, collection: str) -> None:
    """Wait for the embeddings: until they are complete, two searches in a row may rank, and mark, by other methods."""
    address = f"/v1/collections/{collection}"
    _wait_for(lambda: (api.get(address).json()["embeddings"] or {}).get("state") == "complete")


def test_a_word_in_a_marked_sentence_has_evidence_of_its_own(page: WebDriver, api: httpx.Client) -> None:
    _embed(api, "demo_de")
    choose(page, "demo_de")
    Select(page.find_element(By.ID, "method")).select_by_value("hybrid")
    _search(page, "volcano")
    word = page.find_element(By.CSS_SELECTOR, "mark.meaning mark.table")
    box = page.find_element(By.ID, "evidence")
    ActionChains(page).move_to_element(word).perform()
    assert "demo_en_de" in box.text
    sentence = page.find_element(By.CSS_SELECTOR, "mark.meaning:has(mark.table)")
    moved = "arguments[0].dispatchEvent(new MouseEvent(arguments[1], { bubbles: true }))"
    page.execute_script(moved, word, "mouseout")
    page.execute_script(moved, sentence, "mouseover")
    assert "nearest in meaning" in box.text
    assert "demo_en_de" not in box.text


def test_right_to_left_text_is_laid_out_from_the_right(page: WebDriver) -> None:
    choose(page, "demo_ar")
    shown = _search(page, "earthquake")[0].find_element(By.CSS_SELECTOR, ".text")
    assert shown.get_attribute("dir") == "auto"
    assert shown.value_of_css_property("direction") == "rtl"


def test_markup_in_a_document_is_shown_as_text(page: WebDriver, api: httpx.Client) -> None:
    assert api.post("/v1/collections", json={"name": "hostile", "language": "en"}).status_code == 201
    line = json.dumps({"id": "<b>1</b>", "title": HOSTILE, "text": HOSTILE})
    sent = api.post(
        "/v1/collections/hostile/documents",
        content=line,
        headers={"content-type": "application/x-ndjson"},
    )
    assert sent.json()["accepted"] == 1
    page.refresh()
    choose(page, "hostile")
    hit = _search(page, "zyzzyva <script>")[0]
    assert hit.find_element(By.CSS_SELECTOR, "h3").text == HOSTILE
    assert hit.find_element(By.CSS_SELECTOR, ".text").get_property("textContent") == HOSTILE
    assert not hit.find_elements(By.CSS_SELECTOR, "script, img, b")
    hit.find_element(By.XPATH, ".//button[text()='Whole document']").click()
    wait(page).until(expect.invisibility_of_element_located((By.XPATH, "//button[text()='Whole document']")))
    assert hit.find_element(By.CSS_SELECTOR, ".text").get_property("textContent") == HOSTILE
    assert page.title == "Dragoman"
    api.delete("/v1/collections/hostile")


def test_words_without_a_translation_are_named(page: WebDriver) -> None:
    _search(page, "volcano qwertyzxcvb")
    said = [note.text for note in page.find_elements(By.CSS_SELECTOR, ".oov")]
    assert any("into German" in text and "qwertyzxcvb" in text for text in said)
    assert not any("volcano" in text for text in said)


def test_another_reading_of_a_query_is_offered_and_searched(page: WebDriver) -> None:
    choose(page, "demo_de")
    Select(page.find_element(By.ID, "method")).select_by_value("psq")
    Select(page.find_element(By.ID, "query-language")).select_by_value("de")
    assert not _search(page, "beekeeper")
    (offered,) = page.find_elements(By.CSS_SELECTOR, "#search-notes .notice button")
    assert offered.text == "Search as English"
    offered.click()
    wait(page).until(expect.presence_of_element_located((By.CSS_SELECTOR, "#hits mark")))
    assert Select(page.find_element(By.ID, "query-language")).first_selected_option.get_attribute("value") == "en"


def test_words_are_glossed_on_demand(page: WebDriver) -> None:
    choose(page, "demo_de")
    hit = _search(page, "volcano eruption")[0]
    assert not hit.find_elements(By.CSS_SELECTOR, "ruby")
    text = hit.find_element(By.CSS_SELECTOR, ".text").text
    page.find_element(By.ID, "gloss").click()  # asks again, as there are hits
    first = (By.CSS_SELECTOR, "article.hit:first-child .text mark ruby")
    word = wait(page).until(expect.presence_of_element_located(first))
    assert "volcano" in word.find_element(By.CSS_SELECTOR, "rt[lang=en]").text
    glossed = page.find_element(By.CSS_SELECTOR, "article.hit .text")
    assert len(glossed.find_elements(By.CSS_SELECTOR, "rt")) > 5
    assert page.find_elements(By.CSS_SELECTOR, "article.hit h3 ruby")
    without = "const text = arguments[0].cloneNode(true); text.querySelectorAll('rt').forEach((e) => e.remove());"
    assert page.execute_script(f"{without} return text.textContent", glossed) == text


def test_no_translation_is_offered_where_there_is_no_translator(driver: WebDriver, tmp_path: Path) -> None:
    with server(tmp_path, translator="off") as running:
        running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        driver.get(running.url)
        collections(driver)
        assert running.client.get("/v1/translate").json()["model"] is None
        assert not driver.find_element(By.ID, "translate-snippets").is_displayed()


def test_what_is_found_is_translated_on_request(driver: WebDriver, tmp_path: Path) -> None:
    translator = tiny_translator(tmp_path / "translator")
    with server(tmp_path / "data", translator=translator, beam=2, translate_snippets_seconds=60) as running:
        running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        headers = {"content-type": "application/x-ndjson"}
        line = json.dumps({"id": "1", "text": "Der Vulkan spuckt Asche."})
        running.client.post("/v1/collections/de/documents", content=line, headers=headers).raise_for_status()
        driver.get(running.url)
        wait(driver).until(lambda browser: browser.find_element(By.ID, "translate-snippets").is_displayed())
        driver.find_element(By.ID, "translate-snippets").click()
        Select(driver.find_element(By.ID, "query-language")).select_by_value("en")
        assert _search(driver, "Vulkan")
        assert driver.find_elements(By.CSS_SELECTOR, "article.hit .translation[lang=en]")


def test_an_error_is_shown_with_what_the_service_said(page: WebDriver) -> None:
    collections(page)
    page.execute_script("document.querySelector('#method').append(new Option('other', 'other'))")
    Select(page.find_element(By.ID, "method")).select_by_value("other")
    page.find_element(By.ID, "query").send_keys("volcano", Keys.ENTER)
    alert = wait(page).until(expect.presence_of_element_located((By.CSS_SELECTOR, "#search-error .notice.error")))
    assert "method" in alert.text
    assert "request " in alert.text


def test_no_chosen_collection_is_said_without_asking_the_service(page: WebDriver) -> None:
    choose(page)
    page.find_element(By.ID, "query").send_keys("volcano", Keys.ENTER)
    alert = wait(page).until(expect.visibility_of_element_located((By.CSS_SELECTOR, "#search-error .notice")))
    assert "at least one collection" in alert.text


def test_a_table_is_uploaded_used_rolled_back_and_looked_up(page: WebDriver, table_file: Path) -> None:
    choose(page, "demo_de")
    Select(page.find_element(By.ID, "method")).select_by_value("psq")  # by meaning there are hits without it
    assert not _search(page, "clockmaker")
    _open_tables(page)
    for field, value in (("name", "crafts"), ("target", "de"), ("file", str(table_file))):
        page.find_element(By.ID, f"upload-{field}").send_keys(value)
    page.find_element(By.ID, "upload-button").click()
    result = wait(page).until(expect.visibility_of_element_located((By.CSS_SELECTOR, "#upload-result .card")))
    assert "version 1: stored and in use" in result.text
    assert "line 2:" in result.text
    _do(page, lambda: _card(page, "crafts").find_element(By.ID, "term-crafts").send_keys("clockmaker", Keys.ENTER))
    wait(page).until(lambda browser: "schlosser" in _card(browser, "crafts").text.casefold())
    page.find_element(By.ID, "tab-search").click()
    found = _search(page, "clockmaker")
    assert "Taschenuhr" in found[0].text

    table_file.write_text("watchmaker\tUhrmacher\n", encoding="utf-8")
    _open_tables(page)
    page.find_element(By.ID, "upload-file").send_keys(str(table_file))
    page.find_element(By.ID, "upload-button").click()
    wait(page).until(lambda browser: "version 2" in browser.find_element(By.ID, "upload-result").text)
    wait(page).until(lambda browser: "version 2 in use" in _card(browser, "crafts").text)
    _do(page, lambda: _card(page, "crafts").find_element(By.CSS_SELECTOR, "summary").click())
    back = (By.CSS_SELECTOR, "[aria-label='Activate version 1 of crafts']")
    wait(page).until(expect.element_to_be_clickable(back)).click()
    wait(page).until(lambda browser: "version 1 in use" in _card(browser, "crafts").text)
    assert "version 1 of crafts" in page.find_element(By.ID, "tables-status").text


def test_a_bad_table_file_shows_the_error(page: WebDriver, table_file: Path) -> None:
    table_file.write_text("no tabs here\n", encoding="utf-8")
    _open_tables(page)
    for field, value in (("name", "bad"), ("target", "de"), ("file", str(table_file))):
        page.find_element(By.ID, f"upload-{field}").send_keys(value)
    page.find_element(By.ID, "upload-button").click()
    alert = wait(page).until(expect.presence_of_element_located((By.CSS_SELECTOR, "#upload-error .notice.error")))
    assert alert.text.startswith("4")


def test_tabs_work_from_the_keyboard(page: WebDriver) -> None:
    collections(page)
    tab = page.find_element(By.ID, "tab-search")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert page.switch_to.active_element.get_attribute("id") == "tab-tables"
    assert page.find_element(By.ID, "view-tables").is_displayed()
    assert not page.find_element(By.ID, "view-search").is_displayed()


def test_every_field_has_a_label(page: WebDriver) -> None:
    collections(page)
    _open_tables(page)
    unnamed = page.execute_script(
        "return [...document.querySelectorAll('input, select, textarea')]"
        ".filter((e) => !e.labels.length).map((e) => e.id)"
    )
    assert unnamed == []


def test_a_narrow_screen_needs_no_sideways_scrolling(page: WebDriver) -> None:
    metrics = {"width": 375, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.find_element(By.ID, "gloss").click()
        _search(page, "harbour workers on strike for higher wages")
        assert page.find_elements(By.CSS_SELECTOR, "article.hit rt")
        _assert_fits(page)
        _open_tables(page)
        for summary in page.find_elements(By.CSS_SELECTOR, "#tables summary")[:2]:
            summary.click()
        wait(page).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#tables tbody tr"))
        _assert_fits(page)
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _assert_fits(page: WebDriver) -> None:
    assert page.execute_script("return window.innerWidth") == 375
    assert page.execute_script("return document.documentElement.scrollWidth") <= 375


def test_the_page_loads_nothing_from_elsewhere(page: WebDriver, service: str) -> None:
    _search(page, "glaciers melting")
    addresses = page.execute_script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert addresses
    assert all(address.startswith((service + "/", "data:")) for address in addresses)


def test_what_does_not_come_from_a_file_of_the_page_is_refused(page: WebDriver) -> None:
    """What the policy refuses is a fault on the console, and with one of those every other test of the page fails."""
    for script, directive in (
        ("const style = document.createElement('style'); document.head.append(style)", "style-src-elem"),
        ("const image = document.createElement('img'); image.src = '/nothing.png'", "img-src"),
        ("document.body.innerHTML = '<p>markup</p>'", "require-trusted-types-for"),
        ("fetch('http://127.0.0.2/').catch(() => null)", "connect-src"),
    ):
        assert _refused(page, script) == directive
    faults = [entry["message"] for entry in page.get_log("browser") if entry["level"] == "SEVERE"]
    assert any("Content Security Policy" in fault for fault in faults)


def _refused(page: WebDriver, script: str) -> str:
    """The directive by which the page's policy refuses what a script tries."""
    directive = page.execute_async_script(
        "const [done] = arguments;"
        "const tell = (event) => done(event.effectiveDirective);"
        "document.addEventListener('securitypolicyviolation', tell, { once: true });"
        f"try {{ {script}; }} catch {{ /* some also throw */ }}"
    )
    return str(directive)


def test_the_browser_understands_every_declaration_of_the_style_sheet(page: WebDriver) -> None:
    declarations = re.findall(r"^\s+(?!--)([a-z-]+): (.+);$", httpx.get(page.current_url + "web/style.css").text, re.M)
    assert len(declarations) > 100
    unknown = page.execute_script(
        "return arguments[0].filter(([name, value]) => !CSS.supports(name, value))", declarations
    )
    assert unknown == []


def test_the_documentation_needs_nothing_from_elsewhere(page: WebDriver) -> None:
    own = page.current_url.rstrip("/")
    page.get(f"{own}/docs")
    operations = wait(page).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, ".opblock-summary-path"))
    assert "/v1/search" in {one.text.replace("\u200b", "") for one in operations}
    loaded = page.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert loaded and all(str(name).startswith((own, "data:")) for name in loaded), loaded
    page.get(own)
