"""The behaviours of OTP: servers, supervisors, registries and groups."""
