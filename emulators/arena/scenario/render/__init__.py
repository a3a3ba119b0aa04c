"""Writers of file formats: from plain values to the same bytes every time.

Office files are zips of XML templates with fixed timestamps: what the libraries for these formats write
carries the time of writing, and takes ten times as long.
"""
