# GPT-2 shaped random model from transformers: one sequence decoded token by token, or a batch of prompts scored
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import _h, torch
from transformers import GPT2Config, GPT2LMHeadModel

a = _h.args()
_h.turn()
m = (
    GPT2LMHeadModel(
        GPT2Config(n_layer=8, n_embd=768, n_head=12, vocab_size=16000, attn_implementation="sdpa")
    )
    .to("cuda", torch.bfloat16)
    .eval()
)
past = None
tok = torch.randint(0, 16000, (1, 1), device="cuda")
prompt = torch.randint(0, 16000, (24, 1024), device="cuda")


@torch.no_grad()
def decode(i):
    global past, tok
    for _ in range(3):
        o = m(input_ids=tok, past_key_values=past, use_cache=True)
        past = o.past_key_values
        tok = o.logits[:, -1:].argmax(-1)


@torch.no_grad()
def score(i):
    return m(input_ids=prompt, use_cache=False).logits[:, -1].argmax(-1)


_h.drive(score if a.healthy else decode, 10, a)
