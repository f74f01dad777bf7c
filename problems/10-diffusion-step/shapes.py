"""Sizes of the models: as published, and small ones of the same structure for a CPU.

SDXL: the configurations of stabilityai/stable-diffusion-xl-base-1.0. DiT: that of
black-forest-labs/FLUX.1-dev, whose 19 and 38 blocks ``layers`` of a case cuts. Wan: the decoder of
Wan-AI/Wan2.1-T2V-14B-Diffusers, whose defaults are the class's own.
"""

from typing import Any

Config = dict[str, Any]

UNET: dict[str, Config] = {
    "sdxl": {
        "sample_size": 128,
        "in_channels": 4,
        "out_channels": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        "block_out_channels": (320, 640, 1280),
        "transformer_layers_per_block": (1, 2, 10),
        "attention_head_dim": (5, 10, 20),
        "cross_attention_dim": 2048,
        "use_linear_projection": True,
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2816,
    },
    "sdxl-tiny": {
        "sample_size": 16,
        "in_channels": 4,
        "out_channels": 4,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "block_out_channels": (16, 32),
        "transformer_layers_per_block": (1, 2),
        "attention_head_dim": (2, 4),
        "cross_attention_dim": 32,
        "use_linear_projection": True,
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 8,
        "projection_class_embeddings_input_dim": 16 + 6 * 8,
        "norm_num_groups": 8,
        "layers_per_block": 1,
    },
}

DIT: dict[str, Config] = {
    "flux": {
        "in_channels": 64,
        "attention_head_dim": 128,
        "num_attention_heads": 24,
        "joint_attention_dim": 4096,
        "pooled_projection_dim": 768,
        "guidance_embeds": True,
        "axes_dims_rope": (16, 56, 56),
    },
    "flux-tiny": {
        "in_channels": 16,
        "attention_head_dim": 16,
        "num_attention_heads": 2,
        "joint_attention_dim": 32,
        "pooled_projection_dim": 16,
        "guidance_embeds": True,
        "axes_dims_rope": (4, 6, 6),
    },
}

VAE: dict[str, Config] = {
    "sdxl": {
        "down_block_types": ("DownEncoderBlock2D",) * 4,
        "up_block_types": ("UpDecoderBlock2D",) * 4,
        "block_out_channels": (128, 256, 512, 512),
        "layers_per_block": 2,
        "latent_channels": 4,
        "sample_size": 1024,
        "scaling_factor": 0.13025,
    },
    "sdxl-tiny": {
        "down_block_types": ("DownEncoderBlock2D",) * 2,
        "up_block_types": ("UpDecoderBlock2D",) * 2,
        "block_out_channels": (16, 32),
        "layers_per_block": 1,
        "latent_channels": 4,
        "norm_num_groups": 8,
        "sample_size": 32,
        "scaling_factor": 0.13025,
    },
    "wan": {},
    "wan-tiny": {"base_dim": 8, "dim_mult": [1, 2, 2, 2], "num_res_blocks": 1},
}

CLIP: dict[str, tuple[Config, Config]] = {
    "sdxl": (
        {
            "hidden_size": 768,
            "intermediate_size": 3072,
            "num_attention_heads": 12,
            "num_hidden_layers": 12,
            "projection_dim": 768,
        },
        {
            "hidden_size": 1280,
            "intermediate_size": 5120,
            "num_attention_heads": 20,
            "num_hidden_layers": 32,
            "hidden_act": "gelu",
            "projection_dim": 1280,
        },
    ),
    "sdxl-tiny": (
        {
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "projection_dim": 16,
        },
        {
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "projection_dim": 16,
        },
    ),
}
"""The two text encoders, of ViT-L and of ViT-bigG, as transformers' CLIPTextConfig takes them."""

TOKENS = 77
"""Of a prompt, padded: what the text encoders of SDXL take."""
TEXT_TOKENS = 512
"""Of a prompt, padded: what FLUX.1-dev takes of its T5 encoder."""
