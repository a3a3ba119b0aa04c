"""What calls cost, and are thought to cost."""

from __future__ import annotations

import base64
import json

import pytest

from workers.model.messages import user
from workers.model.prices import IMAGE_TOKENS, Price
from workers.model.reply import Usage

PRICE = Price(0.25, 0.025, 2.0)


def test_a_call_costs_its_tokens_rounded_up_to_a_micro_dollar() -> None:
    assert PRICE.of(Usage(1000, 0, 100)) == 450
    assert PRICE.of(Usage(1000, 800, 100)) == 50 + 20 + 200
    assert PRICE.of(Usage(1, 0, 0)) == 1
    assert PRICE.of(Usage()) == 0


def test_prices_are_read_from_settings_with_and_without_cached_input() -> None:
    assert Price.parse("0.25/2") == Price(0.25, 0.25, 2.0)
    assert Price.parse("0.25/0.025/2") == PRICE


def test_prices_are_read_from_the_list_of_models() -> None:
    pricing = {"prompt": "0.00000025", "input_cache_read": "0.000000025", "completion": "0.000002"}
    listed = {"data": [{"id": "other"}, {"id": "m", "pricing": pricing}]}
    found = Price.listed(listed, "m")
    assert found is not None
    assert (found.tokens_in, found.tokens_cached, found.tokens_out) == pytest.approx((0.25, 0.025, 2.0))


@pytest.mark.parametrize(
    "models",
    [
        None,
        [],
        {},
        {"data": {}},
        {"data": [1, {"id": "m"}]},
        {"data": [{"id": "m", "pricing": {"prompt": "x"}}]},
    ],
)
def test_a_list_without_prices_has_none(models: object) -> None:
    assert Price.listed(models, "m") is None


def test_an_estimate_covers_text_images_and_all_tokens_that_may_be_written() -> None:
    image = base64.b64decode(base64.b64encode(b"\x89PNG" + bytes(90_000)))
    text = json.dumps({"messages": [user("word " * 600)], "max_tokens": 500}).encode()
    seen = json.dumps({"messages": [user("word " * 600, images=[image])], "max_tokens": 500}).encode()
    plain = Price(1, 1, 1).estimate(text)
    assert 3000 / 4 + 500 < plain < 3000 / 2 + 500
    assert IMAGE_TOKENS < Price(1, 1, 1).estimate(seen) - plain < IMAGE_TOKENS + 100
