"""A model without weights, as a cache of the model hub: configuration, tokenizer and chat template. Frontend and mocker load
them as those of any other model; nothing computes with them."""

import json
from pathlib import Path

NAME = "test/words"
COMMIT = "1" * 40
# The mocker answers with random token ids. Each has a word, so that each can be decoded.
TOKENS = 4096
START, TURN, END = SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CHAT = (
    "{% for m in messages %}" + TURN + "{{ m['role'] }}\n{{ m['content'] }}" + END + "\n{% endfor %}"
    "{% if add_generation_prompt %}" + TURN + "assistant\n{% endif %}"
)


def byte_characters():
    """The 256 characters that stand for bytes in byte-level tokenizers: printable bytes of Latin-1 for themselves, and
    others for the characters from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + number) for number in range(len(others))]


def tokenizer():
    vocabulary = [*SPECIAL, *byte_characters()]
    words = [f" w{number}" for number in range(TOKENS - len(vocabulary))]
    plain = {"single_word": False, "lstrip": False, "rstrip": False}
    added = [{"id": n, "content": text, **plain, "normalized": False, "special": True} for n, text in enumerate(SPECIAL)]
    added += [
        {"id": len(vocabulary) + n, "content": text, **plain, "normalized": True, "special": False}
        for n, text in enumerate(words)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text: number for number, text in enumerate(vocabulary)},
            "merges": [],
        },
    }


def files():
    """name -> content"""
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "vocab_size": TOKENS,
        "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
        "bos_token_id": SPECIAL.index(START),
        "eos_token_id": SPECIAL.index(END),
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
    }
    ends = [config["eos_token_id"], config["bos_token_id"]]
    return {
        "config.json": config,
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": START,
            "eos_token": END,
            "pad_token": START,
            "model_max_length": config["max_position_embeddings"],
            "chat_template": CHAT,
            "add_bos_token": False,
        },
        "generation_config.json": {"bos_token_id": config["bos_token_id"], "eos_token_id": ends},
    }


def write_hub(home, name=NAME):
    """Writes the model into the folder `home`, for HF_HOME."""
    folder = Path(home) / "hub" / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT, encoding="ascii")
    for file, content in files().items():
        (snapshot / file).write_text(json.dumps(content), encoding="utf-8")
