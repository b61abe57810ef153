"""Token providers for servers behind OAuth: `connect(("http", url), token_provider=...)`.

Each may serve any number of servers, from any task, thread or loop.
"""

from snodo_actors.oauth.authorization_code import AuthorizationCode
from snodo_actors.oauth.browser import Browser
from snodo_actors.oauth.client_credentials import ClientCredentials
from snodo_actors.oauth.client_document import client_metadata_document
from snodo_actors.oauth.enterprise_managed import EnterpriseManaged, IdentityProvider
from snodo_actors.oauth.file_store import FileStore
from snodo_actors.oauth.keyring_store import KeyringStore
from snodo_actors.oauth.keys import SigningKey
from snodo_actors.oauth.options import ProviderOptions
from snodo_actors.oauth.provider import Provider
from snodo_actors.oauth.store import MemoryStore, Store
from snodo_actors.oauth.user_agent import FixedRedirect, UserAgent, Visit
from snodo_actors.oauth.words.client import RegisteredClient
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.oauth.workload_identity import WorkloadIdentity

__all__ = [
    "AuthorizationCode",
    "AuthorizationError",
    "Browser",
    "ClientCredentials",
    "EnterpriseManaged",
    "FileStore",
    "FixedRedirect",
    "IdentityProvider",
    "KeyringStore",
    "MemoryStore",
    "Provider",
    "ProviderOptions",
    "RegisteredClient",
    "SigningKey",
    "Store",
    "UserAgent",
    "Visit",
    "WorkloadIdentity",
    "client_metadata_document",
]
