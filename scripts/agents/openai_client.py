# OpenAI's Python client, unchanged, through the gateway: chat, streams, responses, and groups that are trained on.
#
#   WAGGLE_AGENTS=… WAGGLE_AGENTS_TOKEN=… python openai_client.py SECONDS
import asyncio
import os
import random
import re
import sys
import time

import httpx
from openai import AsyncOpenAI

GATEWAY = os.environ["WAGGLE_AGENTS"]
HEADERS = {"Authorization": f"Bearer {os.environ['WAGGLE_AGENTS_TOKEN']}"}


async def post(http, path, body):
    while True:
        answer = await http.post(path, json=body, headers=HEADERS, timeout=60)
        if answer.status_code != 429:
            return answer.raise_for_status().json()


async def ask(client, way, question):
    messages = [{"role": "user", "content": question}]
    if way == "stream":
        text = ""
        async for chunk in await client.chat.completions.create(model="waggle", messages=messages, stream=True):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        return text
    if way == "responses":
        return (await client.responses.create(model="waggle", input=question)).output_text
    return (await client.chat.completions.create(model="waggle", messages=messages)).choices[0].message.content


async def attempt(http, name, way, a, b):
    rollout = await post(http, "/v1/rollouts", {"task": "sums", "prompt_id": name})
    async with AsyncOpenAI(base_url=rollout["base_url"], api_key=rollout["api_key"]) as client:
        text = await ask(client, way, f"Work out {a} + {b}")
    tagged = re.search(r"<answer>(-?\d+)</answer>", text)
    value = 0 if not tagged else 1 if int(tagged[1]) == a + b else 0.2
    await post(http, f"/v1/rollouts/{rollout['id']}/reward", {"value": value})
    return value


async def main():
    ways = ["chat", "stream", "responses"]
    rewards, number, end = [], 0, time.time() + float(sys.argv[1])
    async with httpx.AsyncClient(base_url=GATEWAY, limits=httpx.Limits(max_connections=64)) as http:
        while time.time() < end:
            work = []
            for i in range(4):
                a, b = random.randint(0, 9), random.randint(0, 9)
                work += [attempt(http, f"py {number + i}", ways[k % 3], a, b) for k in range(8)]
            number += 4
            rewards += await asyncio.gather(*work)
    quarter = max(1, len(rewards) // 4)
    mean = lambda part: sum(part) / len(part)
    print(f"openai: {len(rewards)} rollouts, mean reward {mean(rewards[:quarter]):.3f} in the first quarter, "
          f"{mean(rewards[-quarter:]):.3f} in the last")


asyncio.run(main())
