"""A pool on servers as operators run them: Redis behind TLS, RabbitMQ as the broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import SettingsError
from shared.models import Kind, RunRef, RunStatus
from shared.pool.jobs import QUEUE_FINAL, QUEUE_FINISH, QUEUE_SOLVE, Jobs
from shared.pool.pool import Pool
from shared.settings import Settings
from tests.support.brokers import Certificates, redis_behind_tls
from tests.support.playing import open_final_toy, open_toy, toy_settings, wait_for_end
from tests.support.rabbitmq import PASSWORD, RabbitMQ
from tests.support.supervised import Supervised, toy_variables

pytestmark = pytest.mark.optin


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates.make(tmp_path / "certificates")


def settings(**values: object) -> Settings:
    return Settings.load(_env_file=None, **values)


def play(settings: Settings, folder: Path) -> Supervised:
    """Play a dev and a final run of the toy platform on workers of their own; the workers have ended."""
    workers = Supervised(
        settings, folder, "--role", "both", "--processes", "1", "--threads", "4", environment=toy_variables()
    )
    try:
        workers.wait_until_live(3)
        dev = open_toy(workers.pool, "patient", options={"tasks": 12})
        final = open_final_toy(workers.pool, options={"tasks": 6, "seconds": 60})
        for run, tasks in ((dev, 12), (final, 6)):
            state = wait_for_end(workers.pool, run)
            assert (state.status, state.submitted) == (RunStatus.FINISHED, tasks)
    finally:
        workers.stop()
    return workers


def test_a_pool_plays_over_redis_behind_tls_and_a_password(
    certificates: Certificates, tmp_path: Path
) -> None:
    with redis_behind_tls(tmp_path / "redis", certificates, "MARKEDtls0001") as url:
        workers = play(toy_settings(f"{url}?ssl_ca_certs={certificates.authority}"), tmp_path)
    assert "MARKEDtls0001" not in workers.log.read_text()


def test_a_redis_that_nobody_vouches_for_is_refused_at_once_by_pool_and_broker(
    certificates: Certificates, tmp_path: Path
) -> None:
    stranger = Certificates.make(tmp_path / "stranger")
    with redis_behind_tls(tmp_path / "redis", certificates, "MARKEDtls0001") as url:
        for trusted in ("", f"?ssl_ca_certs={stranger.authority}"):
            with Pool.connect(settings(redis_url=url + trusted)) as pool:
                with pytest.raises(SettingsError, match="certificate") as refused:
                    pool.fleet.live()
                with pytest.raises(SettingsError, match="certificate") as refused_broker:
                    pool.jobs.ping()
                for error in (refused, refused_broker):
                    assert "MARKED" not in str(error.value)
                    assert "ssl_ca_certs" in str(error.value)


def test_a_certificate_for_another_host_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    with redis_behind_tls(tmp_path / "redis", certificates, "MARKEDtls0001") as url:
        elsewhere = url.replace("127.0.0.1", "localhost") + f"?ssl_ca_certs={certificates.authority}"
        with (
            Pool.connect(settings(redis_url=elsewhere)) as pool,
            pytest.raises(SettingsError, match="certificate"),
        ):
            pool.fleet.live()


def test_a_pool_plays_with_rabbitmq_as_its_broker(redis_url: str, tmp_path: Path) -> None:
    with RabbitMQ.start(tmp_path / "rabbitmq") as rabbitmq:
        workers = play(toy_settings(redis_url, broker_url=rabbitmq.url), tmp_path)
    assert PASSWORD not in workers.log.read_text()


def test_jobs_outlive_a_restart_of_rabbitmq_each_in_its_queue(redis_url: str, tmp_path: Path) -> None:
    with RabbitMQ.start(tmp_path / "rabbitmq") as rabbitmq:
        workers = play(toy_settings(redis_url, broker_url=rabbitmq.url), tmp_path)
        jobs = workers.pool.jobs
        run = open_toy(workers.pool)
        jobs.solve(run.ref, "4", "doubling", Kind.DEV)
        jobs.solve(run.ref, "8", "doubling", Kind.DEV)
        jobs.solve(run.ref, "4", "doubling", Kind.FINAL)
        jobs.finish(run.ref, Kind.DEV)
        rabbitmq.restart()
        assert [jobs.waiting(queue) for queue in (QUEUE_SOLVE, QUEUE_FINAL, QUEUE_FINISH)] == [2, 1, 1]
        jobs.close()


def test_a_queue_that_rabbitmq_does_not_know_holds_nothing(redis_url: str, tmp_path: Path) -> None:
    with RabbitMQ.start(tmp_path / "rabbitmq") as rabbitmq:
        jobs = Jobs(settings(redis_url=redis_url, broker_url=rabbitmq.url))
        assert [jobs.waiting(QUEUE_SOLVE), jobs.waiting(QUEUE_SOLVE)] == [0, 0]
        jobs.solve(RunRef(platform="toy", run_id="r"), "1", "doubling", Kind.DEV)
        assert [jobs.waiting(QUEUE_FINISH), jobs.waiting(QUEUE_SOLVE)] == [0, 1]
        jobs.close()


def test_rabbitmq_s_refusal_of_the_password_is_a_wrong_setting(redis_url: str, tmp_path: Path) -> None:
    with RabbitMQ.start(tmp_path / "rabbitmq") as rabbitmq:
        jobs = Jobs(settings(redis_url=redis_url, broker_url=rabbitmq.url.replace(PASSWORD, "MARKEDwrong")))
        with pytest.raises(SettingsError, match="refuses access") as refused:
            jobs.ping()
        assert "MARKED" not in str(refused.value)
        jobs.close()


def test_rabbitmq_s_certificate_is_checked_down_to_the_host_s_name(
    redis_url: str, certificates: Certificates, tmp_path: Path
) -> None:
    trusted = f"?ssl_ca_certs={certificates.authority}"
    with RabbitMQ.start(tmp_path / "rabbitmq", certificates) as rabbitmq:
        jobs = Jobs(settings(redis_url=redis_url, broker_url=rabbitmq.tls_url + trusted))
        jobs.ping()
        jobs.close()
        elsewhere = rabbitmq.tls_url.replace("127.0.0.1", "127.0.0.2")
        for url in (rabbitmq.tls_url, elsewhere + trusted):
            jobs = Jobs(settings(redis_url=redis_url, broker_url=url))
            with pytest.raises(SettingsError, match="certificate"):
                jobs.ping()
            jobs.close()
