"""The functional part of the largest Hessian eigenvalue and of its bounds, by the kind of layer."""
