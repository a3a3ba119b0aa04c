"""Job messages and Celery's settings."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from shared.errors import SettingsError
from shared.pool.jobs import FinishJob, SolveJob, broker_url, celery_config
from shared.settings import Settings

GOOD = {"platform": "arena", "run_id": "run_x1Y2", "task_id": "t03", "solver": "baseline"}


def make(**values: Any) -> Settings:
    return Settings.load(_env_file=None, **values)


def test_a_message_has_only_names_and_ids() -> None:
    job = SolveJob.model_validate(GOOD)
    assert job.model_dump() == GOOD
    assert str(job.ref) == "arena:run_x1Y2"


@pytest.mark.parametrize(
    "wrong",
    [
        {"run_id": "../run"},
        {"run_id": ""},
        {"platform": "a:b"},
        {"task_id": "t|03"},
        {"task_id": "t\n03"},
        {"task_id": ""},
        {"task_id": 3},
        {"solver": "module:Class"},
        {"solver": "os.system('x')"},
        {"key": "arena_secret"},
    ],
)
def test_a_message_with_anything_else_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SolveJob.model_validate({**GOOD, **wrong})


def test_a_finish_message_names_a_run_alone() -> None:
    assert FinishJob(platform="arena", run_id="r").model_dump() == {"platform": "arena", "run_id": "r"}
    with pytest.raises(ValidationError):
        FinishJob.model_validate(GOOD)


def test_the_broker_is_the_pools_redis_unless_set() -> None:
    assert broker_url(make(redis_url="redis://one/0")) == "redis://one/0"
    assert broker_url(make(redis_url="redis://one/0", broker_url="amqp://two")) == "amqp://two"
    with pytest.raises(SettingsError, match="SCRIMMAGE_REDIS_URL"):
        broker_url(make(redis_url=None))


def test_code_never_travels() -> None:
    config = celery_config(make(redis_url="redis://one/0"))
    assert config["accept_content"] == ["json"]
    assert config["task_serializer"] == config["event_serializer"] == "json"


def test_the_visibility_time_out_is_the_same_in_all_three_places() -> None:
    config = celery_config(make(redis_url="redis://one/0"))
    assert (
        config["visibility_timeout"]
        == config["broker_transport_options"]["visibility_timeout"]
        == config["result_backend_transport_options"]["visibility_timeout"]
        == 3600
    )


def test_redis_options_are_not_given_to_another_broker() -> None:
    config = celery_config(make(redis_url="redis://one/0", broker_url="amqp://two"))
    assert "broker_transport_options" not in config
    assert "worker_disable_prefetch" not in config


def test_a_broker_behind_tls_is_verified() -> None:
    assert celery_config(make(redis_url="rediss://one/0"))["broker_use_ssl"] == {"ssl_cert_reqs": "required"}


def test_a_rabbitmq_behind_tls_is_verified_with_its_host_s_name() -> None:
    config = celery_config(make(redis_url="redis://one/0", broker_url="amqps://two//?ssl_ca_certs=/ca.pem"))
    assert config["broker_url"] == "amqps://two//"
    assert config["broker_use_ssl"] == {"server_hostname": None, "ca_certs": "/ca.pem"}


def test_a_sentinel_s_master_is_named_by_the_url() -> None:
    config = celery_config(make(redis_url="redis://one/0", broker_url="sentinel://a:1/0?master_name=mine"))
    assert config["broker_url"] == "sentinel://a:1/0"
    assert config["broker_transport_options"]["master_name"] == "mine"


def test_no_key_is_in_the_settings_that_workers_share() -> None:
    settings = make(
        redis_url="redis://one/0", arena_key=SecretStr("arena_secret"), model_key=SecretStr("sk-x")
    )
    text = repr(celery_config(settings))
    assert "arena_secret" not in text
    assert "sk-x" not in text
