"""Language models: GPT-2 with attention and without, through their pre-training."""
