"""Predict: models that read what people wrote, in processes of their own."""
