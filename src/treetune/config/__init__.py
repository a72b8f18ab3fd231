"""Everything that decides a training, in one TOML file: schema, reading, models by name, and the run.

::

    from treetune.config import Config, TrainingRun

    run = TrainingRun.prepare(Config.read("questions.toml", changes=["train.epochs=5"]))
    for report in run.train():
        …
    treetune.save(run.stored, "questions.treetune", run.info())
"""

from treetune.config.config import Config
from treetune.config.run import TrainingRun

__all__ = ["Config", "TrainingRun"]
