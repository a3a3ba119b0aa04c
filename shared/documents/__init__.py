"""Turns bytes into documents with exact locators. Pure: no network, no files, no Redis.

``registry.parse`` reads one file, ``sandbox.Parsers`` does so in a process that can be stopped,
``codec`` turns a document into bytes for a cache and back.
"""
