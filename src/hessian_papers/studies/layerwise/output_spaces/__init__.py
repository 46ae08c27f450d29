"""The top space of the output Hessian, predicted from the weights behind a layer."""
