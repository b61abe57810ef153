"""Token providers for servers behind OAuth."""

from snodo_actors.oauth.words.errors import AuthorizationError

__all__ = ["AuthorizationError"]
