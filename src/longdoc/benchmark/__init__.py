"""Speed and memory of softmax attention and of every feature map against document length."""
