"""Kafka as Tenure uses it: the topics on a broker, and producing to them."""
