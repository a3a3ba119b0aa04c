"""`agent`: the model proposes a plan, code carries it out. See docs/agent.md."""
