"""Mean gradients of classes and scores, which lie together by score or by class."""
