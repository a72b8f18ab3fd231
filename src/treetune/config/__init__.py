"""Everything that decides a training, as one file: see docs/experiment-files.md.

::

    from treetune.config import Experiment, Task

    task = Task.prepare(Experiment.read("questions.toml", changes=["train.epochs=5"]))
    for progress in task.train():
        …
    treetune.save(task.model, "questions.treetune", task.info(progress))
"""

from treetune.config.experiment import Experiment
from treetune.config.task import Task

__all__ = ["Experiment", "Task"]
