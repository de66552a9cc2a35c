"""What each feature map costs in sharpness, variance and position bias, by matrices of weights in float64."""
