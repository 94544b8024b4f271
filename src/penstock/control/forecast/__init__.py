"""What a learning controller believes about the load: the cost of a batch, of an item, and how it comes back."""
