"""PAC-Bayes bounds on the error of classifiers, and what the posterior gains from the Hessian."""
