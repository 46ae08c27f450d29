"""Whether the mean gradients of classes and scores lie together by score or by class."""
