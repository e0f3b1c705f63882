# An environment of `verifiers`, unchanged, whose agent is Waggle's policy: its own harness talks to the gateway, and its
# own reward function scores the trace. Two groups of eight. For scripts/agents/python.ts.
import asyncio
import os
import re
import sys

import httpx
import verifiers.v1 as vf
from verifiers.v1.harnesses.null.harness import NullHarnessConfig

GATEWAY = os.environ["WAGGLE_AGENTS"]
TOKEN = os.environ["WAGGLE_AGENTS_TOKEN"]


class Sum(vf.Task):
    @vf.reward
    async def right(self, trace) -> float:
        said = trace.last_reply or ""
        tagged = re.search(r"<answer>(-?\d+)</answer>", said)
        if not tagged:
            return 0.0
        a, b = map(int, re.findall(r"\d+", self.data.prompt))
        return 1.0 if int(tagged[1]) == a + b else 0.2


async def attempt(http, a, b):
    def post(path, body):
        return http.post(path, json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)

    rollout = (await post("/v1/rollouts", {"task": "sums", "prompt_id": f"{a} + {b}"})).raise_for_status().json()
    os.environ[f"KEY_{rollout['id']}"] = rollout["api_key"]
    config = vf.AgentConfig(
        model="waggle",
        client=vf.EvalClientConfig(base_url=rollout["base_url"], api_key_var=f"KEY_{rollout['id']}"),
        harness=NullHarnessConfig(id="null"),
        runtime=vf.SubprocessConfig(),
    )
    trace = await vf.make_agent(config).run(Sum(vf.TaskData(prompt=f"Work out {a} + {b}")))
    if not trace.ok:
        sys.exit(f"verifiers: {trace.errors}")
    (await post(f"/v1/rollouts/{rollout['id']}/reward", {"value": trace.reward})).raise_for_status()
    return trace.reward


async def main():
    async with httpx.AsyncClient(base_url=GATEWAY) as http:
        for i in range(int(sys.argv[1])):
            rewards = await asyncio.gather(*(attempt(http, 3 + i, 4) for _ in range(8)))
            print(f"verifiers: rewards {rewards}")


asyncio.run(main())
