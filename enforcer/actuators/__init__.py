"""The actuators: one module per scheduler's interface, each an `enforcer.orders.Actuator`."""
