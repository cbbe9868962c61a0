"""The model of `tenants.channels=learned`: `training` draws mixes, looks ahead over them and learns trees from it."""
