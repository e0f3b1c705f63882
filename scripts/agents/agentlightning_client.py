# Agent Lightning's HTTP client, unchanged, as the runner of an agent that uses OpenAI's: it opens rollouts and rewards
# them. Two groups of eight. The paths are Waggle's; those of Agent Lightning's own server are not offered.
import os
import re

from agentlightning.client import AgentLightningSyncClient
from openai import OpenAI

runner = AgentLightningSyncClient(key=os.environ["WAGGLE_AGENTS_TOKEN"], base_url=os.environ["WAGGLE_AGENTS"], timeout=60)
for a in (2, 6):
    rewards = []
    for _ in range(8):
        rollout = runner.post_with_retry("/v1/rollouts", json={"task": "sums", "prompt_id": f"{a} + 5"}).json()
        client = OpenAI(base_url=rollout["base_url"], api_key=rollout["api_key"])
        messages = [{"role": "user", "content": f"Work out {a} + 5"}]
        text = client.chat.completions.create(model="waggle", messages=messages).choices[0].message.content
        tagged = re.search(r"<answer>(-?\d+)</answer>", text)
        rewards.append(0 if not tagged else 1 if int(tagged[1]) == a + 5 else 0.2)
        runner.post_with_retry(f"/v1/rollouts/{rollout['id']}/reward", json={"value": rewards[-1]})
    calls = runner.get(f"/v1/rollouts/{rollout['id']}/calls").json()["calls"]
    print(f"agentlightning: rewards {rewards}; the last call has {len(calls[0]['token_ids'])} tokens with log-probs")
