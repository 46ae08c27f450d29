"""What the claims have in common."""

# A bound's reason, and why a claim may differ.
OPEN = "the paper leaves open how much; set after a first look at small networks on digits"
SMALL = (
    "The paper has networks of hundreds of neurons, trained for 1000 epochs on MNIST or CIFAR-10. "
    "In small ones, and early, the inputs of a layer vary as much as their mean."
)
