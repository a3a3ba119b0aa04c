"""A stand-in for a chat model: OpenRouter's API without a language model behind it.

It recognises the task in the prompt and serves the scenario's reference plan, so it says nothing about how
well a real model would plan. What it proves is all the rest: execution, citations, effects, cost, and what
happens when a model is slow, wrong, away or fooled.
"""
