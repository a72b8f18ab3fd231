"""The parameter store: hashed features in, a row of scores over all outputs out.

A *row* holds the weights of one feature for every output (a transition, a label, a tag). Rows are hybrid:
a short list of (output, weight) cells while few outputs have a weight, a dense row afterwards. Most rows
are short, most look-ups hit the few dense ones, so this keeps both memory and time low.

`LiveWeights` (float32, with a second array for averaging) grow while a model trains; `freeze` turns them
into `FrozenWeights` (int16, averaged, pruned) for prediction. Integer weights make every sum exact,
whatever the order of addition, so that all search kernels and any number of threads agree to the last bit.
"""
