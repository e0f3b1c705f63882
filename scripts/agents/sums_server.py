# An OpenEnv server with an environment of sums, for scripts/agents/openenv.ts.
#
#   python sums_server.py PORT
#
# It shows "Work out 3 + 8". A tagged right answer earns 1, a tagged wrong one 0.2, and anything else nothing.
import random
import re
import sys

import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Answer(Action):
    text: str


class Question(Observation):
    text: str = ""


class Sums(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        dice = random.Random(seed)
        self._terms = [dice.randint(0, 9), dice.randint(0, 9)]
        return Question(text=f"Work out {self._terms[0]} + {self._terms[1]}")

    def step(self, action, timeout_s=None, **_):
        self._state.step_count += 1
        # The client sends what lies between the answer's tags, and the whole text where there are none.
        is_number = re.fullmatch(r"-?\d+", action.text.strip()) is not None
        reward = 0.0 if not is_number else 1.0 if int(action.text) == sum(self._terms) else 0.2
        return Question(text="", done=True, reward=reward)

    @property
    def state(self):
        return self._state


uvicorn.run(
    create_fastapi_app(Sums, Answer, Question, max_concurrent_envs=16),
    host="127.0.0.1",
    port=int(sys.argv[1]),
    log_level="warning",
)
