"""Three small sentences, the heads the stub parser gives them, and a way to look at columns."""

from __future__ import annotations

PLAIN = """\
# sent_id = s1
# text = Dogs don't bark
1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
4\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\tSpaceAfter=No

# sent_id = s2
1\tRun\trun\tVERB\tVB\t_\t0\troot\t_\t_
2\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_

# sent_id = s3
1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_

"""

STUB_HEADS = {"s1": ["0", "1", "2", "3"], "s2": ["0", "1"], "s3": ["0"]}


def column(text: str, number: int) -> list[list[str]]:
    """Return one column (from 0) of the words of each sentence."""
    return [
        [line.split("\t")[number] for line in block.split("\n") if line and line.split("\t")[0].isdigit()]
        for block in text.strip("\n").split("\n\n")
    ]
