"""The source documents' tables beside what can be measured: `va-edge-ldp reproduce`."""
