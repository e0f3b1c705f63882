# What a GRPO step by TRL takes with long answers: peak resident memory and processor seconds of one step on eight answers
# (or so many) to a prompt of 64 tokens, with LoRA of rank 16 on F32 weights, gradient checkpointing, and so many answers in
# a backward pass.
# Weights are random; memory and time do not depend on them. Beside base-precision.ts. The environment is lab:real's.
#
#   .cache/trl/bin/python scripts/bench/models/trl_memory.py SmolLM2-135M|Qwen2.5-0.5B LENGTH [MICRO=1] [THREADS=1] [ANSWERS=8]
import json
import resource
import sys
import tempfile
import time

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

name, length = sys.argv[1], int(sys.argv[2])
micro = int(sys.argv[3]) if len(sys.argv) > 3 else 1
threads = int(sys.argv[4]) if len(sys.argv) > 4 else 1
group = int(sys.argv[5]) if len(sys.argv) > 5 else 8
torch.set_num_threads(threads)
shared = dict(max_position_embeddings=32768, tie_word_embeddings=True, bos_token_id=None, eos_token_id=0, pad_token_id=1)
if name == "SmolLM2-135M":
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=49152, hidden_size=576, num_hidden_layers=30, num_attention_heads=9,
                    num_key_value_heads=3, intermediate_size=1536, **shared))  # fmt: skip
else:
    model = Qwen2ForCausalLM(
        Qwen2Config(vocab_size=151936, hidden_size=896, num_hidden_layers=24, num_attention_heads=14,
                    num_key_value_heads=2, intermediate_size=4864, **shared))  # fmt: skip
words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(model.config.vocab_size)}, unk_token="w2"))
words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="w0", pad_token="w1", unk_token="w2", padding_side="left")
prompt = " ".join(f"w{10 + i}" for i in range(64))
spent = {}


def reward(completions, completion_ids, **_):
    spent["sampled"] = time.process_time()
    spent["length"] = sum(len(ids) for ids in completion_ids) / len(completion_ids)
    return [float(i % 2) for i in range(len(completions))]


trainer = GRPOTrainer(
    model=model,
    reward_funcs=reward,
    processing_class=tokenizer,
    train_dataset=Dataset.from_list([{"prompt": prompt}] * 4),
    peft_config=LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
        task_type="CAUSAL_LM",
    ),
    args=GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        gradient_checkpointing=True,
        bf16=False,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=group // micro,
        steps_per_generation=group // micro,
        num_generations=group,
        max_completion_length=length,
        generation_kwargs={"min_new_tokens": length},
        max_steps=1,
        learning_rate=1e-4,
        beta=0.0,
        loss_type="dapo",
        top_k=0,
    ),
)
began = time.process_time()
trainer.train()
print(
    json.dumps(
        {
            **{"model": name, "length": spent["length"], "micro": micro, "threads": threads, "answers": group},
            "peakGb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
            "sampling": round(spent["sampled"] - began, 1),
            "training": round(time.process_time() - spent["sampled"], 1),
        }
    )
)
