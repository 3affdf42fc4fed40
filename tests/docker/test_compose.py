"""docker-compose.yml: the compose specification's schema, and what production wants of every service."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docker.wiring import COMPOSE, FILLED_IN, ROOT, compose, services, stages

SERVICES = ["api", "postgres", "worker", "worker-gpu"]
OURS = ["api", "worker", "worker-gpu"]


def test_the_file_is_one_of_the_compose_specification() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_services_are_there() -> None:
    assert sorted(services()) == SERVICES


@pytest.mark.parametrize("missing", FILLED_IN)
def test_a_secret_that_is_not_set_is_named(missing: str) -> None:
    with pytest.raises(ValueError, match=rf"set {missing} in \.env"):
        compose(**{name: value for name, value in FILLED_IN.items() if name != missing})


def test_no_secret_has_a_value_in_the_repository() -> None:
    example = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "docker" / "env.example").read_text(), re.MULTILINE))
    assert {name: example[name] for name in FILLED_IN} == dict.fromkeys(FILLED_IN, "")
    assert set(example) >= {"COMPOSE_PROFILES", *FILLED_IN}
    said = COMPOSE.read_text() + (ROOT / "docker" / "Dockerfile").read_text()
    assert not re.search(r"(?im)^[-\s]*\w*(password|token|secret)\w*\s*[:=]\s*(?!\$\{)\S", said)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_few_rights(name: str) -> None:
    service = services()[name]
    assert int(service["user"].split(":")[0]) > 0
    assert service["read_only"] is True
    assert any(one.startswith("/tmp") for one in service["tmpfs"])
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"} & set(service)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_takes_no_more_than_its_share_of_the_machine(name: str) -> None:
    service = services()[name]
    assert re.fullmatch(r"\d+g", service["mem_limit"])
    assert service["memswap_limit"] == service["mem_limit"]
    assert 0 < service["pids_limit"] <= 1024
    assert all(re.search(r":size=\d+m,", one) for one in service["tmpfs"])


def test_the_systemd_unit_has_the_limits_of_the_containers() -> None:
    unit = (ROOT / "deploy" / "dragoman.service").read_text()
    lines = dict(re.findall(r"(?m)^(\w+)=(.*)$", unit))
    api = services()["api"]
    assert lines["MemoryMax"].lower() == api["mem_limit"]
    assert int(lines["TasksMax"]) == api["pids_limit"]
    assert f"/tmp:{api['tmpfs'][0].partition(':')[2]}" == lines["TemporaryFileSystem"]
    assert (lines["UMask"], lines["StateDirectoryMode"]) == ("0077", "0700")
    assert (lines["NoNewPrivileges"], lines["CapabilityBoundingSet"], lines["ProtectSystem"]) == ("yes", "", "strict")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_watched_and_comes_back(name: str) -> None:
    service = services()[name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["healthcheck"]["start_period"]
    assert service["restart"] == "unless-stopped"
    assert service["stop_grace_period"]


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_has_a_version(name: str) -> None:
    _, _, tag = services()[name]["image"].partition(":")
    assert re.match(r"\d+\.\d+", tag)


@pytest.mark.parametrize("name", SERVICES)
def test_data_lies_in_named_volumes(name: str) -> None:
    for volume in services()[name]["volumes"]:
        source, _, _ = volume.partition(":")
        assert source in compose(**FILLED_IN)["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_our_images_are_built_from_a_stage_that_runs_as_the_same_user(name: str) -> None:
    build = services()[name]["build"]
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    assert ("USER", services()[name]["user"]) in stages()[build["target"]]


def test_the_api_waits_for_the_database() -> None:
    assert services()["api"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_only_the_api_is_published_and_by_default_to_this_machine_alone() -> None:
    published = {name: service.get("ports") for name, service in services().items() if service.get("ports")}
    assert published == {"api": ["127.0.0.1:8080:8080"]}
    inside = compose(**FILLED_IN)["networks"]
    assert inside["inside"]["internal"] is True
    assert "outside" not in services()["postgres"]["networks"] and "outside" not in services()["worker"]["networks"]


def test_the_api_asks_whichever_worker_the_profile_starts() -> None:
    host = services()["api"]["environment"]["DRAGOMAN_WORKER_URL"].removeprefix("http://").split(":")[0]
    for name, profile in (("worker", "cpu"), ("worker-gpu", "gpu")):
        worker = services()[name]
        assert worker["profiles"] == [profile]
        assert host in worker["networks"]["inside"]["aliases"]
    assert services()["worker-gpu"]["environment"]["DRAGOMAN_DEVICE"] == "cuda"
    (device,) = services()["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]


def test_the_same_secret_goes_to_both_ends() -> None:
    ends = services()
    tokens = {ends[name]["environment"]["DRAGOMAN_WORKER_TOKEN"] for name in OURS}
    assert tokens == {FILLED_IN["DRAGOMAN_WORKER_TOKEN"]}
    assert ends["api"]["environment"]["PGPASSWORD"] == ends["postgres"]["environment"]["POSTGRES_PASSWORD"]
