# Clients from the Python package index, unchanged: what each gets as the answer to a question.
#
#   python clients.py URL KEY
import json
import sys

import anthropic
import ollama

url, key = sys.argv[1:3]
messages = [{"role": "user", "content": "Work out 4 + 7"}]
claude = anthropic.Anthropic(base_url=url, api_key=key)
bearer = anthropic.Anthropic(base_url=url, auth_token=key, api_key=None)
llama = ollama.Client(host=url, headers={"authorization": f"Bearer {key}"})
asked = {"model": "waggle", "max_tokens": 24, "messages": messages}
options = {"num_predict": 24}


def streamed():
    with claude.messages.stream(**asked) as stream:
        return "".join(stream.text_stream)


CALLS = {
    "anthropic (Python)": lambda: claude.messages.create(**asked).content[0].text,
    "anthropic (Python), authorization": lambda: bearer.messages.create(**asked).content[0].text,
    "anthropic (Python), streamed": streamed,
    "ollama (Python), chat": lambda: llama.chat(model="waggle", messages=messages, options=options).message.content,
    "ollama (Python), list": lambda: llama.list().models[0].model,
}
for name, call in CALLS.items():
    try:
        told = {"works": True, "text": call()}
    except Exception as error:
        told = {"works": False, "text": str(error)}
    print(json.dumps({"name": name, **told}))
