"""Layer-wise Hessians of classifiers and the structure of their top eigenspaces."""
