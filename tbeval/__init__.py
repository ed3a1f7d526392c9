"""tbeval: find out whether a checkpoint of a terminal agent really got better."""

import os

__version__ = "0.1.0"

# harbor posts model names and mean rewards, and litellm fetches a price map, unless told
# otherwise before either is imported; so it is said here, where every import of ours begins.
os.environ["HARBOR_TELEMETRY"] = "0"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
