# Tinker's released client, unmodified, against `waggle serve --tinker`: what of it works, and a loop that learns. Prints
# one JSON object a line. TINKER_BASE_URL and TINKER_API_KEY say where the server is.
#
#   python tinker_client.py BASE_MODEL [rounds of the loop]

import json
import sys
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)
import logging  # noqa: E402

logging.disable(logging.ERROR)
import tinker  # noqa: E402
from tinker import types  # noqa: E402

base, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
service = tinker.ServiceClient()
rest = tinker.RestClient()
adam = types.AdamParams(learning_rate=1e-3, beta1=0.9, beta2=0.95, eps=1e-8)


def say(**what):
    print(json.dumps(what), flush=True)


def datum(tokens, **inputs):
    inputs = {"target_tokens": tokens[1:], **inputs}
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=inputs)


def logprobs(output):
    return [[float(x) for x in one["logprobs"].to_numpy()] for one in output.loss_fn_outputs]


trainer = service.create_lora_training_client(base_model=base, rank=4).result()
tokenizer = trainer.get_tokenizer()
texts = ["Work out 4 + 7 = 11", "Work out 25 - 3 = 22 and say so", "What is left of 9 after 5 went?"]
sequences = [tokenizer.encode(text) for text in texts]
count = [len(one) - 1 for one in sequences]
supervised = [datum(one, weights=[float(i % 2) for i in range(len(one) - 1)]) for one in sequences]

# What the library is asked for the same, elsewhere: log-probs, a step, log-probs after it.
before = trainer.forward_backward(supervised, "cross_entropy")
step = trainer.optim_step(adam)
after = trainer.forward(supervised, "cross_entropy")
say(
    check="cross_entropy",
    sequences=sequences,
    before=logprobs(before.result()),
    after=logprobs(after.result()),
    loss=before.result().metrics["loss:sum"],
    norm=step.result().metrics["grad_norm"],
)
old = logprobs(after.result())
for loss in ("importance_sampling", "ppo", "cispo"):
    batch = [
        # Half of the tokens were sampled from something else, so ratios are not 1.
        datum(one, logprobs=[x - 0.3 * (i % 2) for i, x in enumerate(was)], advantages=[(-1.0) ** (i // 2) for i in range(len(was))])
        for one, was in zip(sequences, old)
    ]
    result = trainer.forward_backward(batch, loss)
    step = trainer.optim_step(adam)
    after = trainer.forward(batch, loss)
    say(check=loss, loss=result.result().metrics["loss:sum"], norm=step.result().metrics["grad_norm"], old=old, after=logprobs(after.result()))
    old = logprobs(after.result())


def sampled(sampler, tokens, **how):
    params = types.SamplingParams(max_tokens=6, seed=5, **how)
    return sampler.sample(types.ModelInput.from_ints(tokens), 3, params, include_prompt_logprobs=True, topk_prompt_logprobs=2, topk_sample_logprobs=2).result()


def torch_is_there():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def custom():
    before = trainer.forward(supervised, "cross_entropy").result()

    def loss(data, all_logprobs):
        return -sum((lp * lp).sum() for lp in all_logprobs) * -0.5, {"mine": 1.0}

    future = trainer.forward_backward_custom(supervised, loss)
    trainer.optim_step(adam).result()
    wanted = 0.5 * sum(x * x for one in logprobs(before) for x in one)
    assert abs(future.result().metrics["loss:sum"] - wanted) < 1e-2 * wanted, (future.result().metrics, wanted)


def moments():
    """Samples of an old snapshot are those of before, whatever was learnt since."""
    then = trainer.save_weights_and_get_sampling_client().result()
    first = sampled(then, sequences[0])
    trainer.forward_backward(supervised, "cross_entropy")
    trainer.optim_step(types.AdamParams(learning_rate=0.05)).result()
    now = trainer.save_weights_and_get_sampling_client().result()
    again, other = sampled(then, sequences[0]), sampled(now, sequences[0])
    assert [s.tokens for s in first.sequences] == [s.tokens for s in again.sequences]
    near = max(abs(a - b) for a, b in zip(first.prompt_logprobs[1:], again.prompt_logprobs[1:]))
    assert near < 1e-4 < max(abs(a - b) for a, b in zip(first.prompt_logprobs[1:], other.prompt_logprobs[1:])), near


def prompt_logprobs():
    sampler = trainer.save_weights_and_get_sampling_client().result()
    wanted = logprobs(trainer.forward(supervised, "cross_entropy").result())[0]
    scored = sampler.compute_logprobs(types.ModelInput.from_ints(sequences[0])).result()
    assert scored[0] is None and max(abs(a - b) for a, b in zip(scored[1:], wanted)) < 1e-4
    last = sampler.compute_logprobs(types.ModelInput.from_ints(sequences[0]), prompt_logprobs_last_n=2).result()
    assert last[-3] is None and abs(last[-1] - wanted[-1]) < 1e-4


def state():
    """What was saved goes on as if nothing had been between, with the optimizer and without."""
    path = trainer.save_state("state", overwrite=True, user_metadata={"a": "b"}).result().path
    trainer.forward_backward(supervised, "cross_entropy")
    trainer.optim_step(adam).result()
    wanted = logprobs(trainer.forward(supervised, "cross_entropy").result())
    for other in (service.create_training_client_from_state_with_optimizer(path).result(),):
        other.forward_backward(supervised, "cross_entropy")
        other.optim_step(adam).result()
        got = logprobs(other.forward(supervised, "cross_entropy").result())
        assert max(abs(a - b) for x, y in zip(wanted, got) for a, b in zip(x, y)) < 1e-4
    fresh = service.create_training_client_from_state(path).result()
    fresh.load_state_with_optimizer(path).result()
    fresh.load_state(path).result()
    assert rest.get_weights_info_by_tinker_path(path).result().lora_rank == 4
    assert rest.list_checkpoints(trainer.model_id).result().checkpoints[0].user_metadata == {"a": "b"}


def saved_sampler():
    path = trainer.save_weights_for_sampler("sampler").result().path
    wanted = sampled(trainer.save_weights_and_get_sampling_client().result(), sequences[1])
    got = sampled(service.create_sampling_client(model_path=path).result(), sequences[1])
    assert [s.tokens for s in wanted.sequences] == [s.tokens for s in got.sequences]
    assert rest.get_sampler(service.create_sampling_client(model_path=path).result()._sampling_session_id).result().model_path == path
    rest.delete_checkpoint_from_tinker_path(path).result()
    assert all(one.tinker_path != path for one in rest.list_user_checkpoints().result().checkpoints)


def base_sampler():
    sampler = service.create_sampling_client(base_model=base).result()
    sampler.get_tokenizer()
    return sampled(sampler, sequences[0], top_k=5, top_p=0.9, temperature=0.7, stop=["."])


def refused(call):
    try:
        call()
    except tinker.TinkerError:
        return
    raise AssertionError("was not refused")


CALLS = {
    "get_server_capabilities, healthz": lambda: rest.get_server_capabilities().result().supported_models[0].model_name,
    "get_info, get_tokenizer": lambda: trainer.get_info().lora_rank,
    "sample with top_k, top_p, temperature, stop; from the base": base_sampler,
    "sample with an unending stop": lambda: sampled(base_client, sequences[0], stop=[]),
    "save_weights_and_get_sampling_client, old snapshots": moments,
    "compute_logprobs, prompt_logprobs_last_n": prompt_logprobs,
    "save_state, create_training_client_from_state, load_state": state,
    "save_weights_for_sampler, create_sampling_client, delete_checkpoint": saved_sampler,
    "list_training_runs, get_training_run": lambda: rest.get_training_run(rest.list_training_runs().result().training_runs[0].training_run_id).result(),
    "list_sessions, get_session": lambda: rest.get_session(rest.list_sessions().result().sessions[0]).result().training_run_ids[0],
    "get_sampler_handle, from_sampler_handle": lambda: sampled(tinker.SamplingClient.from_sampler_handle(base_client.get_sampler_handle()), sequences[0]),
    "refused: another model": lambda: refused(lambda: service.create_lora_training_client(base_model="no/such").result()),
    "refused: a loss that is not there": lambda: refused(lambda: other().forward_backward(supervised, "gspo").result()),
    "refused: a target that is not the next token": lambda: refused(lambda: other().forward([types.Datum(model_input=types.ModelInput.from_ints(sequences[0]), loss_fn_inputs={"target_tokens": [1] * len(sequences[0])})], "cross_entropy").result()),
    "refused: target_prompt_logprobs": lambda: refused(lambda: base_client.sample(types.ModelInput.from_ints(sequences[0]), 1, types.SamplingParams(max_tokens=1), prompt_alt_tokens_k=2).result()),
}
if torch_is_there():
    CALLS["forward_backward_custom"] = custom
base_client = service.create_sampling_client(base_model=base).result()
_other = []


def other():
    """A client of its own: after a failure, the client itself refuses all else."""
    if not _other:
        _other.append(service.create_training_client_from_state(trainer.save_state("other", overwrite=True).result().path).result())
    return _other[0]


for name, call in CALLS.items():
    try:
        call()
        say(call=name, works=True)
    except Exception as error:  # noqa: BLE001
        say(call=name, works=False, error=f"{type(error).__name__}: {error}"[:400])

# The shape of the cookbook's rl_loop.py: sample groups, reward, centre, importance_sampling, step.
if rounds > 0:
    learner = service.create_lora_training_client(base_model=base, rank=8).result()
    adam = types.AdamParams(learning_rate=3e-3, beta1=0.9, beta2=0.95, eps=1e-8)
    digits = {token for text, token in tokenizer.get_vocab().items() if any(c.isdigit() for c in text)}
    means = []
    for round in range(rounds):
        sampler = learner.save_weights_and_get_sampling_client().result()
        params = types.SamplingParams(max_tokens=12, seed=round)
        prompts = [types.ModelInput.from_ints(one[:6]) for one in sequences]
        futures = [sampler.sample(prompt, 8, params) for prompt in prompts]
        data, rewards = [], []
        for prompt, future in zip(prompts, futures):
            answers = future.result().sequences
            # To answer in digits.
            group = [sum(t in digits for t in one.tokens) / len(one.tokens) for one in answers]
            mean = sum(group) / len(group)
            rewards.append(mean)
            for one, reward in zip(answers, group):
                pad = prompt.length - 1
                data.append(
                    types.Datum(
                        model_input=prompt.append(types.EncodedTextChunk(tokens=one.tokens[:-1])),
                        loss_fn_inputs={
                            "target_tokens": [0] * pad + list(one.tokens),
                            "logprobs": [0.0] * pad + list(one.logprobs),
                            "advantages": [0.0] * pad + [reward - mean] * len(one.tokens),
                        },
                    )
                )
        future = learner.forward_backward(data, "importance_sampling")
        learner.optim_step(adam).result()
        future.result()
        means.append(sum(rewards) / len(rewards))
    say(loop=means)
service.close("success").result()
