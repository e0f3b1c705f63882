# TRL's GRPOTrainer on what trl.ts wrote into a folder: `model` (F32 weights and tokenizer), `job.json` (settings),
# `questions.json` (training questions in the order of their use), `held.json` (held-out ones) and `worked.json` (worked
# examples for supervised steps by TRL's SFTTrainer before, none without). Prints one JSON line for each evaluation, and one for answers to score, whose scores it reads as a line. Settings are real.ts's;
# docs/results/real.md says what is not equal.
import json
import os
import resource
import sys
import time
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

folder = Path(sys.argv[1])
job = json.loads((folder / "job.json").read_text())
questions = json.loads((folder / "questions.json").read_text())
held = json.loads((folder / "held.json").read_text())

torch.set_num_threads(job["threads"])
torch.manual_seed(job["seed"])
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=str(folder / "model" / "tokenizer.json"),
    eos_token=job["stop"],
    pad_token=job["stop"],
    padding_side="left",
)
model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
model.generation_config.eos_token_id = tokenizer.eos_token_id
model.generation_config.pad_token_id = tokenizer.eos_token_id


def scores_of(texts, seeds):
    """What the task's own verifier says of answers to the questions with these seeds."""
    print("SCORE " + json.dumps([{"seed": seed, "text": text} for seed, text in zip(seeds, texts)]), flush=True)
    return json.loads(sys.stdin.readline())


clock = {"seconds": 0.0, "cpu": 0.0, "since": (0.0, 0.0), "tokens": 0, "rewards": []}


def now():
    return time.perf_counter(), time.process_time()


def reward(completions, seed, completion_ids, **_):
    clock["tokens"] += sum(len(ids) for ids in completion_ids)
    scores = scores_of(completions, seed)
    clock["rewards"].append(sum(scores) / len(scores))
    return scores


@torch.no_grad()
def accuracy(model, **sampling):
    scores = []
    for start in range(0, len(held), 50):
        part = held[start : start + 50]
        batch = tokenizer([one["prompt"] for one in part], return_tensors="pt", padding=True, add_special_tokens=False)
        batch.pop("token_type_ids", None)
        batch = batch.to(model.device)
        written = model.generate(**batch, max_new_tokens=job["length"], **sampling)
        texts = tokenizer.batch_decode(written[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        scores += scores_of(texts, [one["seed"] for one in part])
    return scores


class Looks(TrainerCallback):
    def look(self, model, step):
        training = model.training
        model.eval()
        sampled = accuracy(model, do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
        greedy = accuracy(model, do_sample=False)
        model.train(training)
        line = {
            "step": step,
            "tokens": clock["tokens"],
            "seconds": clock["seconds"],
            "cpu": clock["cpu"],
            "sampled": sampled,
            "greedy": greedy,
            "rewards": clock["rewards"],
            "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "load": os.getloadavg()[0],
        }
        clock["rewards"] = []
        print("LOOK " + json.dumps(line), flush=True)

    def on_train_begin(self, args, state, control, model=None, **_):
        self.look(model, 0)
        clock["since"] = now()

    def on_step_end(self, args, state, control, model=None, **_):
        (seconds, cpu), (seconds_before, cpu_before) = now(), clock["since"]
        clock["seconds"] += seconds - seconds_before
        clock["cpu"] += cpu - cpu_before
        print(f"step {state.global_step}: reward {clock['rewards'][-1]:.3f}, {clock['tokens']} tokens, {clock['seconds']:.0f} s", file=sys.stderr, flush=True)
        if state.global_step % job["every"] == 0 or state.global_step == job["steps"]:
            self.look(model, state.global_step)
        clock["since"] = now()


lora = LoraConfig(
    r=job["rank"],
    lora_alpha=2 * job["rank"],
    lora_dropout=0.0,
    target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    task_type="CAUSAL_LM",
)
COMMON = dict(
    output_dir=str(folder / "out"),
    adam_beta2=0.99,
    weight_decay=0.0,
    max_grad_norm=1.0,
    gradient_checkpointing=False,
    bf16=False,
    use_cpu=job["device"] == "cpu",
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    logging_strategy="no",
    seed=job["seed"],
)

worked = json.loads((folder / "worked.json").read_text())
if worked:
    seconds_before, cpu_before = now()
    supervised = SFTTrainer(
        model=model,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list(worked),
        peft_config=lora,
        args=SFTConfig(
            **COMMON,
            per_device_train_batch_size=8,
            max_steps=job["supervised"],
            learning_rate=job["supervised_rate"],
            lr_scheduler_type="linear",
            warmup_steps=5,
            completion_only_loss=True,
        ),
    )
    supervised.train()
    model, lora = supervised.model, None
    seconds, cpu = now()
    clock["seconds"] += seconds - seconds_before
    clock["cpu"] += cpu - cpu_before

batch = job["prompts"] * job["group"]
trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward,
    processing_class=tokenizer,
    train_dataset=Dataset.from_list(questions),
    peft_config=lora,
    callbacks=[Looks()],
    args=GRPOConfig(
        **COMMON,
        # All answers of a step are sampled at once and trained on in small batches: one batch of 64 does not fit into
        # 23 GB of memory.
        per_device_train_batch_size=job["micro"],
        gradient_accumulation_steps=batch // job["micro"],
        steps_per_generation=batch // job["micro"],
        num_generations=job["group"],
        max_completion_length=job["length"],
        max_steps=job["steps"],
        learning_rate=job["rate"],
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=job["warm_up"],
        beta=0.0,
        # The mean over the tokens of all small batches: our token_mean.
        loss_type="dapo",
        scale_rewards="group",
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        shuffle_dataset=False,
    ),
)
trainer.train()
