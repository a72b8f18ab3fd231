"""Training: objectives, schedule, trainer, checkpoints; jackknifing, stacking, pipelines, tokenizers, reranking."""
