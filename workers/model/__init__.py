"""The metered chat model that a solver finds as ``context.model``. See docs/model.md.

``messages`` makes what is said to it, ``Reply`` is what it said, ``Model`` makes the call: paced, paid within
the caps, noted in the transcript.
"""

from workers.model.messages import assistant, system, tool, tool_result, user
from workers.model.model import Model
from workers.model.reply import Reply, ToolCall, Usage

__all__ = ["Model", "Reply", "ToolCall", "Usage", "assistant", "system", "tool", "tool_result", "user"]
