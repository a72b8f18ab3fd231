"""Everything that decides a training, as one file: see docs/experiment-files.md.

::

    from treetune.experiment import Experiment, Task

    task = Task.prepare(Experiment.read("questions.toml", changes=["train.epochs=5"]))
    for progress in task.train():
        …
    treetune.save(task.model, "questions.treetune", task.info(progress))
"""

from treetune.experiment.experiment import Experiment
from treetune.experiment.task import Task

__all__ = ["Experiment", "Task"]
